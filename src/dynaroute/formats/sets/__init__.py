"""Files with many instances: npz, Parquet, PyTorch files and published pickles."""
