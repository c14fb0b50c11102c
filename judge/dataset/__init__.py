"""Datasets: reading, cleaning and pooling the results of engines.

    read, stored_dataset       read a dataset whole; write it with its pool to the disk, query by query
    readers, trec              read files of each format into rows
    text_files, csv_tables     read lines in any encoding, and the records of tables
    rows, parsed_rows          one row for each result; its fields, parsed, grouped by query
    validation                 check identifiers and texts; escape cells and columns of files
    clean, markup              clean texts as prompts show them; remove HTML
    injection                  flag texts that seem to address the assessor; injection_patterns has the forms
    pool, near_duplicates      the distinct pairs to judge, and which of them share a judgment
    label_files, labels        read labels and feedback of people and examples; match labels with pairs

All texts of a dataset are untrusted.
"""
