"""Results of runs: the log that survives a kill, what is written from it, merging, history, shards.

It knows neither pytest nor targets: plain records in, plain records out.
"""
