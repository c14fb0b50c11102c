# docker build -t search-judge .
# docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/data" -e OPENAI_API_KEY search-judge run results.jsonl -m openai:NAME
FROM python:3.13-slim
COPY . /src
RUN pip install --no-cache-dir "/src[dashscope,langchain,parquet,xlsx]" && rm -r /src
WORKDIR /data
ENV HOME=/tmp PYTHONUNBUFFERED=1
ENTRYPOINT ["judge"]
