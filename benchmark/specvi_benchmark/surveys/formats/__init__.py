"""One module a file format; each defines ``FORMAT`` (see `specvi_benchmark.surveys.registry`)."""
