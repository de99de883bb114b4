"""The kineto reader: of a damaged file what can be read is read, and the damage is told."""
import json
import unittest

from kineto_case import MadeKinetoCase


class KinetoDamage(MadeKinetoCase):
    def test_an_event_that_is_no_json(self):
        broken = '{"ph": "X", "cat" "cpu_op", "name": 7}, '
        where = self.text.index('{"ph"')
        self.assert_same(self.text[:where] + broken + self.text[where:],
                         f"1 event is not JSON and is left out, the first at byte {where}")

    def test_quotes_too_many_take_their_events_alone(self):
        """Between two of them text and what is not text are the other way round."""
        broken = '{"ph": "X", "cat": "cpu_op", "name": "a", "args": {"x": ["]}}, '
        first, last = self.text.index('{"ph"'), self.text.rindex('{"ph"')
        for at, said in ((first, "1 event is not JSON"), (last, "2 events are not JSON")):
            text = self.text[:first] + broken + self.text[first:]
            if at == last:
                text = text[:last + len(broken)] + broken + text[last + len(broken):]
            self.assert_same(text, f"{said} and {'is' if at == first else 'are'} left out, the first at byte {first}")

    def test_a_quote_too_many_beside_the_events(self):
        """Inside the device's name it makes one text of what follows; elsewhere it is where no quote may be."""
        head = self.text.index('"traceEvents"')
        behind = self.text.rindex('"traceName"')
        devices = self.text.index('"deviceProperties"')
        for at, what, first, skipped in (
                (self.text.index("Made GPU") + 4, '"', devices, self.text.index('"baseTimeNanoseconds"') + 1 - devices),
                (self.text.index("schemaVersion") + 6, '"', 1, devices),
                (devices, '"trace_id": "a"b", ', devices + len('"trace_id": "a"'), len('b", ')),
                (devices, "x" * 70000 + ", ", devices, 70002),
                (head, "}, ", head, 3),
                (head, '"user": [{"a": "}], ', head, len('"user": [{"a": "}], ')),
                (behind + 2, '"', behind, len(self.text) + 1 - behind)):
            text = self.text[:at] + what + self.text[at:]
            self.assert_same(text, f"{skipped} bytes beside the list of events are not JSON and are left out, "
                                   f"the first at byte {first}")
            code, out, _ = self.run_pdhost("check", "made.json", watch=False)
            self.assertEqual(code, 7, out)
            self.assertNotIn("ends in the middle", out)

    def test_a_bracket_too_many_ends_no_list(self):
        at = self.text.index("}, {", len(self.text) * 4 // 5) + 1
        begin = self.text.index("[", self.text.index("traceEvents"))
        alone = self.text[begin:self.text.rindex("]") + 1]
        for text, where, brackets in ((self.text, at, "]"), (self.text, at, "]}"), (alone, at - begin, "]")):
            for behind in (",", ""):
                broken = text[:where] + brackets + behind + text[where + 1:]
                self.assert_same(broken, "1 bracket too many in the list of events is passed over, the first at byte "
                                         f"{where + len(brackets) - 1}")

    def test_events_behind_the_end_of_the_list_are_told(self):
        at = self.text.index("}, {", len(self.text) * 4 // 5) + 1
        begin = self.text.index("[", self.text.index("traceEvents"))
        alone = self.text[begin:self.text.rindex("]") + 1]
        for text, where, brackets in ((self.text, at, "]]"), (self.text, at, "]}}"), (alone, at - begin, "]}"),
                                      (self.text, len(self.text), self.text), (alone, len(alone), alone)):
            _, err = self.read(text[:where] + brackets + text[where:])
            left = text[where:].count('"ph"') or text.count('"ph"')
            self.assertIn(f"{left} events stand behind the end of the list of events and are left out", err)
            out = self.run_pdhost("analyze", "made.json", watch=False)[1]
            self.assertIn("withheld: a part of the file could not be read", " ".join(out.split()))

    def test_what_follows_damage_in_the_header_is_read(self):
        """The devices, which are named behind it."""
        figures = self.assert_same(self.text.replace('"schemaVersion": 1', '"schemaVersion": "1"2'), "3 bytes beside")
        self.assertEqual(figures["device"]["name"], "Made GPU")

    def test_damage_without_a_list_is_no_end_in_the_middle(self):
        with open(self.path("none.json"), "w", encoding="utf-8") as file:
            file.write('{"schemaVersion": "1"2, "user": 3}')
        code, _, err = self.run_pdhost("analyze", "none.json", watch=False)
        self.assertEqual(code, 3)
        self.assertIn("bytes beside the list of events are not JSON", err)
        self.assertNotIn("ends in the middle", err)

    def test_a_member_that_is_named_as_the_list_is_none(self):
        self.assert_same(self.text.replace('"schemaVersion"', '"meta": {"traceEvents": 5}, "schemaVersion"'))

    def test_a_list_of_events_within_a_text_is_none(self):
        self.assert_same(self.text.replace('"schemaVersion"', '"user": "{\\"traceEvents\\": [1]}", "schemaVersion"'))

    def test_a_file_that_ends_in_the_middle(self):
        cut = self.text.rindex('{"ph"') + 20
        figures, err = self.read(self.text[:cut])
        self.assertEqual(len(figures["step_rows"]), 5)
        self.assertIn(f"the file ends in the middle, at byte {cut}", err)

    def verdict_of(self, events, said):
        figures, err = self.read(json.dumps({**self.made.head, "traceEvents": events}))
        self.assertTrue(any(said in line for line in self.warnings(err)), err)
        return figures["windows"][0]["tables"]["verdict"]["rows"][0]

    def test_ranges_as_pairs_are_told_and_withhold_the_verdict(self):
        """A range that is left out is not one that the program lacks."""
        events = []
        for event in self.made.events:
            begin = {key: event[key] for key in event if key != "dur"}
            end = {**begin, "ts": event["ts"] + event["dur"], "ph": "E"}
            is_pair = event["cat"] in ("cpu_op", "user_annotation")
            events += [{**begin, "ph": "B"}, end] if is_pair else [event]
        pairs = 2 * (len(events) - len(self.made.events))
        said = f"{pairs} events begin or end a range (ph B, E) and are left out"
        self.assertEqual(self.verdict_of(events, said)["verdict_cause"], "withheld")
        other = [{"ph": "B", "cat": "mine", "name": "x", "pid": 7, "tid": 7, "ts": 5.0}]
        self.assert_same(json.dumps({**self.made.head, "traceEvents": self.made.events + other}))

    def test_events_without_a_length_are_told(self):
        for category in ("kernel", "cpu_op"):
            events = [dict(event) for event in self.made.events]
            first = next(event for event in events if event["cat"] == category)
            del first["dur"]
            said = "1 event has no length (dur) and is read with a length of 0, the first at byte "
            self.assertEqual(self.verdict_of(events, said)["verdict_cause"], "withheld")

    def test_work_that_is_in_the_file_twice_is_told(self):
        """Two records of one moment are not: a graph's kernels have one number, and may have no length."""
        works = [event for event in self.made.events if event["cat"] in ("kernel", "gpu_memcpy")]
        _, err = self.read(json.dumps({**self.made.head, "traceEvents": self.made.events * 2}))
        said = f"device records that are in the file twice: {len(works)}; counts and sums hold both"
        self.assertTrue(any(said in line for line in self.warnings(err)), err)
        moments = [{**event, "dur": 0} for event in works[:1] * 2]
        others = [{**works[0], "args": {**works[0]["args"], "stream": 8}}, *moments]
        _, err = self.read(json.dumps({**self.made.head, "traceEvents": self.made.events + others}))
        self.assertNotIn("twice", err)


if __name__ == "__main__":
    unittest.main()
