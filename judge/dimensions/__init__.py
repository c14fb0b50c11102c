"""Dimensions other than relevance: columns of their own, which never enter the measures of relevance.

dimension_table                           the table of dimensions, and measuring those of a run
questions                                 what a model is asked, and how many questions to expect
diversity, sources, expected_gains        without a call: lists, sites and dates, probabilities of grades
feedback, trade_offs                      without a call: feedback of users, prices and weighted totals
site_grades, points, answers, reasons     by a model: sites, points, answers, classes and explanations
side_by_side                              by a model: the lists of two engines
align, embeddings                         embeddings, and a linear map of them
"""
