"""Texts that seem to address the assessor, in Chinese and English (prompt injection).

detection   flag a text: by patterns, by the model, and by what it says when it is decoded
patterns    the forms of such texts, a row each, which are searched only where their words occur
model       a linear model of such texts, for the wordings that no pattern has
decoding    fold letters that look like Latin ones; decode what a text says in another form
"""
