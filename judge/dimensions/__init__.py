"""Dimensions other than relevance: columns of their own, which never enter the measures of relevance.

dimension_table                           the table of dimensions, measuring those of a run, and its questions
diversity, sources, expected_gains        without a call: lists, sites and dates, probabilities of grades
feedback, trade_offs                      without a call: feedback of users, prices and weighted totals
site_grades, points, answers, reasons     by a model: sites, points, answers, classes and explanations
align, embeddings                         embeddings, and a linear map of them
"""
