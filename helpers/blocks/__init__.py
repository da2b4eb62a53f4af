"""Paper 4, *Towards Standardizing AI Bias Exploration*: measures of bias composed from blocks.

counts    columns, groups of rows, and the one table of counts
tally     from files of any size to counts, by DuckDB through Ibis; tallies of shards add
blocks    base measures, comparison sets, comparisons, reductions, and a cell made of them
named     the paper's Table 1 as data: measures of bias by their names
evidence  intervals, permutation nulls and multiplicity
report    every combination of the blocks, and the way back from a cell to its rows
audit     one page from a table of predictions
paper     the paper's own code and Figure 1
examples  the tables that the notebooks read, and other toolkits' answers
claims    what notebooks 09 and 09b measure for the claims of the paper
"""
