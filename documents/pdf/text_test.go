package pdf

import (
	"slices"
	"strings"
	"testing"
)

func TestTidy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"one\r\ntwo", "one two"},
		{"exam\x02\r\nple", "example"},
		{"exam\uFFFE\nple", "example"},
		{"exam\uFFFEple", "example"},
		{"soft\u00ADhyphen", "softhyphen"},
		{"a \t b\u00a0c\x00d", "a b cd"},
		{"well-\r\nknown", "well- known"},
		{" begins", "begins"},
		{"", ""},
	} {
		if got, _ := tidy([]rune(c.in), false); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

// set gives lines their places: each as x, y, size.
func set(text string, places ...[3]float64) ([]rune, []line) {
	r := []rune(text)
	ls := lines(r)
	for i := range ls {
		if i < len(places) {
			ls[i].x, ls[i].y, ls[i].size = places[i][0], places[i][1], places[i][2]
		}
	}
	return r, ls
}

func TestParagraphs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		places     [][3]float64
		want       string // the beginnings: 1 for a line that begins a paragraph
	}{
		{"no places", "a\nb\n\nc", nil, "1011"},
		{"even", "A\nb\nc\nd\ne", [][3]float64{{10, 100, 10}, {10, 88, 10}, {10, 76, 10}, {10,
			64, 10}, {10, 52, 10}}, "10000"},
		{"wide, even", "A\nb\nc\nd\ne", [][3]float64{{10, 100, 10}, {10, 80, 10}, {10, 60, 10},
			{10, 40, 10}, {10, 20, 10}}, "10000"},
		{"a gap", "A\nb\nC\nd\ne\nf", [][3]float64{{10, 100, 10}, {10, 88, 10}, {10, 70, 10},
			{10, 58, 10}, {10, 46, 10}, {10, 34, 10}}, "101000"},
		{"indented", "A\nb\nC\nd", [][3]float64{{25, 100, 10}, {10, 88, 10}, {25, 76, 10}, {10,
			64, 10}}, "1010"},
		{"larger", "A\nB\nc", [][3]float64{{10, 100, 16}, {10, 84, 10}, {10, 72, 10}}, "110"},
		{"another font", "A\nb\nc\nd", [][3]float64{{10, 100, 10}, {10, 88, 13}, {10, 76, 10},
			{10, 64, 10}}, "1000"},
		{"list", "• a\nb\n• c\nd", [][3]float64{{10, 100, 10}, {20, 88, 10}, {10, 76, 10}, {20,
			64, 10}}, "1010"},
		{"new column", "A\nb\nC\nd", [][3]float64{{10, 100, 10}, {10, 88, 10}, {200, 100, 10},
			{200, 88, 10}}, "1010"},
		{"sentence in two columns", "A\nb\nc\nd", [][3]float64{{10, 100, 10}, {10, 88, 10},
			{200, 100, 10}, {200, 88, 10}}, "1000"},
		{"word in two parts", "A\nb\uFFFE\nC", [][3]float64{{10, 100, 10}, {10, 88, 10}, {10,
			20, 10}}, "100"},
		{"one line in parts", "A\nb\nc", [][3]float64{{10, 100, 10}, {60, 100, 10}, {90, 101,
			10}}, "100"},
	} {
		text, ls := set(c.text, c.places...)
		var got strings.Builder
		for _, first := range paragraphs(text, ls) {
			got.WriteByte("01"[map[bool]int{true: 1}[first]])
		}
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, got.String(), c.want)
		}
	}
}

func TestHeadings(t *testing.T) {
	t.Parallel()
	o := outline{}
	for _, e := range []outlined{
		{"introduction", 2, false}, {"12thelonganswer", 3, false}, {"chapter3ends", 2, false},
		{"4", 2, false},
	} {
		o.add(&e)
	}
	text, ls := set("Introduction\nfoo\n1 INTRODUCTION\nThe Long\nAnswer\nEnds.\n4\n4\n")
	got := headings(text, ls, o)
	want := map[int]heading{0: {1, 2}, 3: {2, 3}, 5: {1, 2}, 6: {1, 2}}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for at, h := range want {
		if got[at] != h {
			t.Errorf("line %d: %v, want %v", at, got[at], h)
		}
	}
}

func TestOrdered(t *testing.T) {
	t.Parallel()
	got := ordered([]link{{5, 9, "b"}, {0, 4, "a"}, {5, 12, "text"}, {8, 10, "over"}, {11, 11,
		"none"}, {20, 21, "c"}})
	want := []link{{0, 4, "a"}, {5, 9, "b"}, {20, 21, "c"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		" https://example.org/a ": "https://example.org/a",
		"mailto:a@example.org":    "mailto:a@example.org",
		"../other.pdf":            "../other.pdf",
		"JavaScript:alert(1)":     "",
		"javascript :alert(1)":    "",
		"data:text/html,x":        "",
		"":                        "",

		strings.Repeat("a", maxAddress+1): "",
	} {
		if got := usable(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
