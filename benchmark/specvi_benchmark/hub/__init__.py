"""The Hugging Face Hub: the only place that fetches from it, writes cards and pushes."""
