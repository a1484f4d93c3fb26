# An image with adaptbert and what a project's Makefile needs, for a project that is mounted:
#
#   docker build --tag adaptbert .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/project" adaptbert check
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/project" --entrypoint make adaptbert recipe PYTHON=python
#
# --build-arg TORCH_INDEX=<address> takes torch from that index: pytorch.org names one for processors alone, which makes
# the image some GB smaller, and one for each CUDA. Without it torch is that of the package index.
#
# Checked by a linter, not built by us so far.

FROM python:3.13-slim AS wheel
WORKDIR /source
COPY . .
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
# A version of git or make would leave Debian's archive with the next update.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*

ARG TORCH_INDEX=""
COPY constraints.txt /tmp/constraints.txt
RUN --mount=type=bind,from=wheel,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir --constraint /tmp/constraints.txt \
        ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} /wheels/*.whl

# A home that any user may write to, because --user brings one without a name.
ENV HOME=/home/adaptbert
RUN useradd --home-dir "$HOME" --create-home --uid 1000 adaptbert && chmod 1777 "$HOME"
USER 1000
WORKDIR /project
ENTRYPOINT ["adaptbert"]
CMD ["--help"]
