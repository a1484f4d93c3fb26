"""reports/index.html: one page without a network, in English and Chinese, that says what was shown and what was not."""
