"""Parsing of replies.

    verdict         read a reply that is as the prompts ask for it, or hand it on
    any_form        read any other: the final answer, then its objects or its labelled lines
    final_answer    find the text behind the thinking, and for questions besides grades the object in it
    tolerant_json   read objects with common damage
    repair          read a value from an object with worse damage
    labelled_lines  read an answer without an object
    attribution     decide whether an answer is the reply's own
    remarks         find a sentence that speaks of the answer alone: its origin, that it is rounded or off
    contradictions  decide whether the text around an answer contradicts it
    corrections     find that a reply declines to judge, or corrects itself
    stated_scale    find the scale that a reply names, which may be another one
    vocabulary      list the words and keys that the other modules look for

Other packages use `parse_verdict`, `parse_json_answer` and `extract_final_answer`.
"""
