"""Datasets: reading, cleaning and pooling the results of engines.

A file becomes a dataset in these steps:

    dataset_files, trec        read a file of any format into records
    rows                       make of each record one `InputRow` for each result, with untyped values
    parsed_rows                check and parse its values (`ParsedRow`), and group all rows by query
    query_builder              make of the rows of a query a `Query`, and a `Ranking` for each engine
    pool                       find the distinct pairs of a query, and which results are one document
    stored_dataset             take these steps query by query, and write a `PooledDataset` to the disk
    dataset_warnings           count what is unusual in the queries and rankings, and describe it

The other modules:

    text_files                 read lines in any encoding, and JSON in them
    csv_tables                 read the records of CSV
    field_values               check and parse single values: identifiers and texts; escape them in files
    clean, markup              clean texts as prompts show them; remove HTML
    near_duplicates            find pairs that share a judgment
    label_files, labels        read labels and feedback of people and examples; match labels with pairs

All texts of a dataset are untrusted.
"""
