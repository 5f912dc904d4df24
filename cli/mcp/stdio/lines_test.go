package stdio

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxLine+1)
	for _, c := range []struct {
		name, in string
		want     []string // "LONG" is errLong
	}{
		{"nothing", "", nil},
		{"blank ones", "\n\n", []string{"", ""}},
		{"lines", "a\nb\n", []string{"a", "b"}},
		{"without an end", "a\nb", []string{"a", "b"}},
		{"carriage returns stay", "a\r\n", []string{"a\r"}},
		{"the longest", long[1:] + "\nb\n", []string{long[1:], "b"}},
		{"too long", long + "\nb\n", []string{"LONG", "b"}},
		{"too long, without an end", "a\n" + long, []string{"a", "LONG"}},
		{"much too long", strings.Repeat(long, 3) + "\nb", []string{"LONG", "b"}},
		{"NUL", "a\x00b\n\x00", []string{"a\x00b", "\x00"}},
	} {
		if got := strings.Join(allLines(t, strings.NewReader(c.in)), "|"); got != strings.Join(
			c.want,
			"|",
		) {
			t.Errorf("%s: %.100q", c.name, got)
		}
	}
}

func allLines(t *testing.T, in io.Reader) (all []string) {
	t.Helper()
	r := newLineReader(in)
	for {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return all
		case errors.Is(err, errLong):
			all = append(all, "LONG")
		case err != nil:
			t.Fatal(err)
		default:
			all = append(all, string(line))
		}
	}
}

// TestLinesThatBreak: what stood before a failure of the stream is no line.
func TestLinesThatBreak(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := newLineReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if line, err := r.next(); string(line) != "a" || err != nil {
		t.Fatalf("%q %v", line, err)
	}
	if line, err := r.next(); line != nil || !errors.Is(err, broken) {
		t.Errorf("%q %v", line, err)
	}
}

// FuzzLines: however the bytes come, the lines are those of a simple split.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"))
	f.Add([]byte("\x00\xff\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var want []string
		if len(in) > 0 {
			want = strings.Split(strings.TrimSuffix(string(in), "\n"), "\n")
		}
		for _, r := range []io.Reader{bytes.NewReader(in), iotest.OneByteReader(bytes.NewReader(in)),
			iotest.DataErrReader(bytes.NewReader(in))} {
			if got := allLines(t, r); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("%q, want %q", got, want)
			}
		}
	})
}
