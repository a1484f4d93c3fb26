# %% [markdown]
# # The results of a recipe, in a notebook
#
# VS Code and PyCharm run this file cell by cell; `jupytext --to ipynb examples/notebook.py` makes a notebook of it.
# Start it in the folder of a project. docs/how-to/predict.md describes the names.

# %%
from pathlib import Path

import torch

import adaptbert

# %% [markdown]
# Train what is out of date. Where nothing is, this only reads files; interrupted, it goes on from there next time.

# %%
adaptbert.run()

# %% [markdown]
# The score of each arm of each task, and what the questions of the report say about two arms.

# %%
scores = adaptbert.read_comparison()
print(scores.pivot_table("score", "arm", ["task", "base"]).mul(100).round(1))

# %%
differences = adaptbert.read_differences()
print(differences[["task", "question", "difference", "low", "high", "verdict"]].round(3).to_string(index=False))

# %% [markdown]
# The runs behind a score, a row each.

# %%
runs = scores[["task", "arm", "runs"]].explode("runs").dropna()
runs[["replicate", "seed", "score"]] = runs.pop("runs").tolist()
print(runs.groupby(["task", "arm"])["score"].agg(["mean", "std", "count"]).round(3))

# %% [markdown]
# The arm with the best score on dev as a predictor, which takes texts, pairs, lists of tokens, mappings, or a table.

# %%
best = scores.dropna(subset="dev").sort_values("dev").iloc[-1]
folder = sorted(Path("models/finetune").glob(f"{best['task']}-{best['arm']}-{best['base']}*"))[0]
predictor = adaptbert.Predictor.load(folder)
print(predictor.frame(["Returns the shape of the array.", "Raises an error if the file is closed."]))

# %% [markdown]
# A checkpoint before fine-tuning: what it was trained on, and vectors of its last layer.

# %%
checkpoint = adaptbert.Checkpoint.load(sorted(path for path in Path("models/pretrain").iterdir() if path.is_dir())[0])
print(checkpoint.card.texts if checkpoint.card else "a public checkpoint")
(text,) = checkpoint.tokenizer.encode(["Returns the shape of the array."])
ids = torch.tensor([checkpoint.tokenizer.single(text.ids)])
with torch.no_grad():
    print(checkpoint.encoder()(ids).last_hidden_state.shape)
