"""From text to tokens: vocabulary, words, documents, memory-mapped token arrays."""
