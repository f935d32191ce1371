"""Seeds of fuzz_tabular, a model of each kind, and of fuzz_rows."""
from wire import array_type, doubles, feature, field, number, translated, varint

TEXTS = field(1, "a") + field(1, "b")
LABELS = field(100, TEXTS)
ROW = feature("x", 5, field(1, bytes([2])) + field(2, 65600))
NUMBER = feature("y", 2, b"")
COUNT = feature("y", 1, b"")
TEXT = feature("y", 3, b"")
ARRAY = feature("y", 5, field(1, bytes([2])) + field(2, 65600))
WORDS = feature("x", 6, field(2, b""))
PLACES = feature("y", 6, field(1, b""))
ODDS = [TEXT, feature("p", 6, field(2, b""))]
NAMES = field(11, "y") + field(12, "p")


def leaf(node, value):
    return field(1, field(2, node) + field(3, 6) + field(20, number(2, value)))


def model(kind, inputs, outputs, content, names=field(11, "y")):
    return translated(kind, inputs, outputs, content, names)


BRANCH = field(1, field(2, 7) + field(10, 1) + number(11, 0.25) + field(12, 1) + field(13, 2) + field(14, 1))
TREES = field(1, BRANCH + leaf(1, 1.5) + leaf(2, -1) + field(2, 1) + doubles(3, [0.5]))
SPARSE = field(1, field(1, field(1, 1) + number(2, 0.5)) + field(1, field(1, 2) + number(2, -1))) + field(1, b"")
DENSE = field(1, doubles(1, [0.5, 1])) + field(1, doubles(1, [-1, 2]))
RBF = field(1, field(2, number(1, 0.5)))
SAMPLES = field(1, 2) + field(2, field(1, bytes(8))) + field(2, field(1, b"\0\0\x80?\0\0\0@"))
ENCODER = model(600, [feature("x", 3, b"")], [ARRAY], field(1, TEXTS) + field(11, 1))

TABULAR = {
    "tabular/tree_regressor.mlmodel": model(302, [ROW], [NUMBER], TREES),
    "tabular/tree_classifier.mlmodel": model(402, [ROW], ODDS, TREES + field(2, 2) + LABELS, NAMES),
    "tabular/vector_regressor.mlmodel": model(
        301, [ROW], [NUMBER], RBF + field(2, SPARSE) + field(4, doubles(1, [1, -1])) + number(5, 0.25)),
    "tabular/vector_classifier.mlmodel": model(
        401, [ROW], ODDS, RBF + field(2, bytes([1, 1])) + field(4, DENSE) + field(5, doubles(1, [1, -1])) +
        doubles(6, [0.25]) + doubles(7, [-1]) + doubles(8, [0.5]) + LABELS, NAMES),
    "tabular/neighbors.mlmodel": model(404, [ROW], ODDS, field(1, SAMPLES) + field(3, field(1, 1)) + LABELS +
                                       field(210, b""), NAMES),
    "tabular/one_hot.mlmodel": ENCODER,
    "tabular/one_hot_sparse.mlmodel": model(600, [feature("x", 1, b"")], [PLACES],
                                            field(2, field(1, varint(1) + varint(5))) + field(10, 1)),
    "tabular/imputer.mlmodel": model(601, [ROW], [ARRAY], field(4, doubles(1, [1, 2])) + number(11, 0.25)),
    "tabular/imputer_words.mlmodel": model(
        601, [WORDS], [feature("y", 6, field(2, b""))], field(6, field(1, field(1, "a") + number(2, 3))) + number(11, 1.5)),
    "tabular/features.mlmodel": model(602, [feature("x", 2, b""), feature("d", 6, field(1, b""))],
                                      [feature("y", 5, array_type([4]))],
                                      field(1, field(1, "d") + field(2, 3)) + field(1, field(1, "x") + field(2, 1))),
    "tabular/words.mlmodel": model(603, [WORDS], [ARRAY], field(1, TEXTS)),
    "tabular/scaler.mlmodel": model(604, [ROW], [ARRAY], doubles(1, [1]) + doubles(2, [2, 3])),
    "tabular/mapping.mlmodel": model(606, [feature("x", 3, b"")], [COUNT],
                                     field(1, field(1, field(1, "a") + field(2, 4))) + field(102, 9)),
    "tabular/normalizer.mlmodel": model(607, [ROW], [ARRAY], field(1, 2)),
    "tabular/extractor.mlmodel": model(609, [ROW], [ARRAY], field(1, bytes([1, 0]))),
    "tabular/identity.mlmodel": model(900, [feature("y", 3, b"")], [TEXT], b""),
    "tabular/thresholds.mlmodel": model(560, [ROW], [feature("y", 5, array_type([2, 2]))], b""),
    "tabular/text.mlmodel": model(2000, [feature("x", 3, b"")], [TEXT], field(1, 1) + field(10, "en") + field(200, TEXTS)),
    "tabular/custom.mlmodel": model(555, [ROW], [ARRAY], field(10, "Mine") +
                                    field(30, field(1, "k") + field(2, number(10, 0.5)))),
    "tabular/pipeline.mlmodel": model(202, [feature("x", 3, b"")], [ARRAY], field(1, ENCODER)),
    "rows/rows.json": b'\x00[{"number": 1.5, "count": 3, "text": "a", "words": {"a": 2}, "x": [[1, NaN], [3, Infinity]]},\n'
                      b' {"number": null, "picture": [[[1, 2, 3]]]}]\n',
    "rows/one.json": b'\x00{"picture": [[0, 255]]}',
    "rows/lines.jsonl": b'\x01{"number": 1}\n\n{"count": 2}\r\n',
    "rows/byte_order_mark.csv": b'\x02\xef\xbb\xbf\xef\xbb\xbf',
    "rows/empty_name.csv": b'\x02""',
    "rows/table.csv": b'\x02number,text,x[0],x[1],words[a]\r\n1.5,"a ""b"",\n",2,,1\r\n,c,NaN,3,\r\n',
    "rows/cells.csv": b'\x02\xef\xbb\xbfcount,words,x\n7,"{""a"": 1}","[[1, 2], [3, 4]]"\n',
}
