"""What came of a study: records, statistics, ranking, tables, Parquet files."""
