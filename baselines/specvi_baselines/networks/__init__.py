"""Neural networks that learn to vet. Nothing here imports torch until a network is trained or used."""
