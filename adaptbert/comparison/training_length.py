"""How long a fine-tuning has to be before it can learn anything."""

FEWEST_STEPS, STEPS_OF_A_CLASS = 100, 20


def steps_to_learn(classes: int) -> int:
    """Optimizer steps of a run with the default learning rate below which models often predict one class.

    A rule of thumb: in batches of 32, 38 steps for 12 classes and 125 for 13 (`scratch` of chemprot,
    docs/results/biomedical.md) ended in models that predict one class. Public checkpoints are no exception: the usual
    three epochs of a thousand rows are too few to be stable (Zhang et al. 2021, "Revisiting Few-sample BERT
    Fine-tuning", section 6), and runs that are longer fail less often (Mosbach et al. 2021, "On the Stability of
    Fine-tuning BERT").
    """
    return max(FEWEST_STEPS, STEPS_OF_A_CLASS * classes)
