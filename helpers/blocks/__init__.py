"""Paper 4, *Towards Standardizing AI Bias Exploration*: measures of bias composed from blocks.

counts    columns, groups of rows, and the one table of counts
rows      files of any size as rows of text, in DuckDB
tally     from rows to counts: which column is what; tallies of shards add
blocks    base measures, comparison sets, comparisons, reductions, and a cell made of them
evidence  intervals, permutation nulls and multiplicity
report    every combination of the blocks, and the way back from a cell to its rows
audit     one page from a table of predictions
named     measures by their names in the literature: Table 1
paper     the paper's code and Figure 1
claims    the tables that notebooks 09 and 09b read, and what they measure for the claims
"""
