"""Progress bars: silent where asked, in a notebook's bar as well."""

from tqdm.notebook import tqdm as notebook_bar

from helpers.run import progress


def test_a_run_without_a_reader_has_no_bar(monkeypatch, capsys):
    monkeypatch.setattr(progress, "tqdm", notebook_bar)
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert list(progress.progress(range(3), desc="x")) == [0, 1, 2]
    assert capsys.readouterr().out == ""


def test_a_reader_sees_the_bar(monkeypatch, capsys):
    monkeypatch.setenv("TQDM_DISABLE", "0")
    assert list(progress.progress(range(3), desc="reading")) == [0, 1, 2]
    captured = capsys.readouterr()
    assert "reading" in captured.out + captured.err
