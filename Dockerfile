# syntax=docker/dockerfile:1
# The application: commands, service and worker in one image. Build: `docker build -t thinkeval .`
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
# PyTorch's default wheels run on CPU and GPU and bring 3 GB of CUDA libraries. Name an index of
# its other wheels to get those, --build-arg TORCH_INDEX=...: a wheel from it ("+cpu", or another
# CUDA) is preferred to the plain one of the same version. docs/how-to/docker.md says when to.
ARG TORCH_INDEX=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/thinkeval
ENV PATH=/opt/thinkeval/bin:$PATH
WORKDIR /src
COPY constraints.txt ./
# The big dependency first and alone, so that a change of our code does not fetch it again.
RUN pip install --constraint constraints.txt ${TORCH_INDEX:+--extra-index-url "${TORCH_INDEX}"} torch
COPY pyproject.toml setup.py README.md LICENSE ./
COPY service ./service
COPY cypher ./cypher
COPY editing ./editing
COPY loaders ./loaders
RUN pip install --constraint constraints.txt ${TORCH_INDEX:+--extra-index-url "${TORCH_INDEX}"} .

FROM python:${PYTHON}-slim
RUN useradd --create-home --uid 10001 thinkeval \
    && mkdir -p /var/lib/thinkeval/home /var/lib/thinkeval/cache \
    && chown -R thinkeval:thinkeval /var/lib/thinkeval
COPY --from=build /opt/thinkeval /opt/thinkeval
ENV PATH=/opt/thinkeval/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    THINKEVAL_HOME=/var/lib/thinkeval/home \
    THINKEVAL_CACHE=/var/lib/thinkeval/cache \
    HF_HOME=/var/lib/thinkeval/cache/huggingface
USER 10001
EXPOSE 8000
WORKDIR /home/thinkeval
VOLUME /var/lib/thinkeval
ENTRYPOINT ["thinkeval"]
CMD ["--help"]
