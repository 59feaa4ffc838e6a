"""What several command groups share: numbers, output files, streams, examples in help texts."""
