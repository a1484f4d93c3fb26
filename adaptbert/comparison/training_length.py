"""How long a fine-tuning has to be before it can learn anything."""

FEWEST_STEPS, STEPS_OF_A_CLASS = 100, 20


def steps_to_learn(classes: int) -> int:
    """Optimizer steps of a run at the usual learning rate of its base, below which models often predict one class.

    A rule of thumb. Of what was trained for this project from small models in batches of 32, models predicted one class
    after 38 steps for 12 classes, 125 for 13 (`scratch` of chemprot, docs/results/biomedical.md), 75 for 6 (from random
    weights at the usual 0.0004; at 0.001 they learned), 50 for the tags of genes at 2.5 times the usual rate, and 251
    for the same at a sixth of it; 75 and 94 steps for 5 classes (docs/results) and 251 for the tags at the usual rate
    taught something. Public checkpoints are no exception: the usual three epochs of a thousand rows are too few to be
    stable (Zhang et al. 2021, "Revisiting Few-sample BERT Fine-tuning", section 6), and runs that are longer fail less
    often (Mosbach et al. 2021, "On the Stability of Fine-tuning BERT").
    """
    return max(FEWEST_STEPS, STEPS_OF_A_CLASS * classes)
