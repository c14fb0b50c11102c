"""Texts that seem to address the assessor, in Chinese and English (prompt injection).

detection                  flag a text: by patterns, by the model, and by what it says when it is decoded
patterns                   the forms of such texts, a row each
word_patterns, lookalikes  search patterns only where their words occur; fold letters that look like Latin
model                      a linear model of such texts, for the wordings that no pattern has
mentions, decoding         leave out what a text only mentions; decode what it says in another form
"""
