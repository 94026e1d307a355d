#!/bin/sh
# From nothing to a packaged model: `./train.sh [CONFIG] [MINUTES] [WORK_FOLDER]`.
# To go on from an earlier run: RESUME=work/run/final.pt ./train.sh ...
# More words for the trainer (a small GPU wants smaller batches): MORE='--batch-tokens 8192' ./train.sh gpu 60
# Needs Node 20 and Python with torch 2 or newer, numpy and tokenizers.
set -eu
cd "$(dirname "$0")"
config=${1:-nano} minutes=${2:-40} work=${3:-work}
python=${PYTHON:-python3}
examples=${EXAMPLES:-45000}
mkdir -p "$work"
[ -d node_modules ] || npm ci --no-workspaces
[ -f "$work/train.jsonl" ] || npx tsx generate.js --split train --seed 1 --count "$examples" >"$work/train.jsonl"
if [ "$config" = gpu ]; then
  # As many examples as are read at once, made afresh all the time: what `train.jsonl` is for is the tokenizer alone.
  [ -f "$work/tokenizer.json" ] || $python tokenizer.py "$work/train.jsonl" "$work" 4096
  $python train_gpu.py --config gpu --tokenizer "$work" --out "$work/run" --minutes "$minutes" ${RESUME:+--resume "$RESUME"} \
    --generate 'npx tsx generate.js --split train --seed {n} --count 3000 --natural 0.65 --dense 1 --decisions 0.25 --prose {prose:.3f} --words {words:.3f}' ${MORE:-}
  $python package_mlc.py "$work/run/final.pt" "$work" ..
  exit
fi
[ -f "$work/eval.jsonl" ] || npx tsx generate.js --split eval --seed 7 --count 400 >"$work/eval.jsonl"
vocabulary=$($python -c "import json; print(json.load(open('configs.json'))['$config']['model']['vocab_size'])")
[ -f "$work/tokenizer.json" ] || $python tokenizer.py "$work/train.jsonl" "$work" "$vocabulary"
$python train.py --config "$config" --data "$work/train.jsonl" --eval "$work/eval.jsonl" --tokenizer "$work" \
  --out "$work/run" --minutes "$minutes" ${RESUME:+--resume "$RESUME" --warm-data 1} ${MORE:-}
$python package_mlc.py "$work/run/final.pt" "$work" ..
