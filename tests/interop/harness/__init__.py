"""The driver of tests/interop/run."""
