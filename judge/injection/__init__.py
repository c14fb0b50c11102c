"""Texts that seem to address the assessor, in Chinese and English (prompt injection).

detection                  flag a text without what it only mentions: by patterns, by the model, and decoded
patterns                   the forms of such texts, a row each
word_patterns, lookalikes  search patterns only where their words occur; fold letters that look like Latin
model                      a linear model of such texts, for the wordings that no pattern has
decoding                   decode what a text says in another form
"""
