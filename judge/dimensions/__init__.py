"""Dimensions other than relevance: columns of their own, which never enter the measures of relevance.

dimension_table                           the table of dimensions, measuring those of a run, and its questions
diversity, freshness, expected_gains      without a call: lists, dates, probabilities of grades
feedback, trade_offs                      without a call: feedback of users, prices and weighted totals
sites                                     classes of sites without a call, and their grades by a model
points, answers, reasons                  by a model: points, answers, classes and explanations
align, embeddings                         embeddings, and a linear map of them
"""
