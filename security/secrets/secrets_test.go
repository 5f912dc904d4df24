package secrets

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"
)

// write makes a private file in a folder of its own.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	t.Parallel()
	set, err := Load(write(t, "secrets",
		"\ufeff# of this node\n\nexample=user:pass=word# \r\n  \nA.b-c_9= \tblanks stay\t \n"+
			"utf8=caf\u00e9\nlatin1=caf\xe9\nlast="+strings.Repeat("v", maxValue)))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"A.b-c_9", "example", "last", "latin1",
		"utf8"}; !slices.Equal(set.Names(), want) {
		t.Errorf("names %q, want %q", set.Names(), want)
	}
	for name, want := range map[string]string{
		"example": "user:pass=word# ", "A.b-c_9": " \tblanks stay\t ", "utf8": "caf\u00e9",
		"latin1": "caf\xe9",
	} {
		if v, ok := set.Lookup(name); !ok || v.Reveal() != want {
			t.Errorf("%s: %q, %v; want %q", name, v.Reveal(), ok, want)
		}
	}
	for _, name := range []string{"", "Example", "# of this node"} {
		if _, ok := set.Lookup(name); ok {
			t.Errorf("there is a secret %q", name)
		}
	}
	for _, text := range []string{"", "\n", "# nothing", "\ufeff"} {
		if set, err := Load(write(t, "secrets", text)); err != nil || len(set.Names()) > 0 {
			t.Errorf("%q: %v, %v", text, set.Names(), err)
		}
	}
}

// TestMistakes: an error names the file and the line, says what to do, and shows nothing of a line.
func TestMistakes(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("#\n", maxLines)
	for name, tc := range map[string]struct{ text, want string }{
		"no name":            {"a=1\nhunter2\n", "line 2: has no =: write NAME=VALUE"},
		"a name with blanks": {"hunter2 =x", "line 1: the name before ="},
		"an odd name":        {"a=1\r\n\r\nhunter2:x=y", "line 3: the name before ="},
		"an empty name":      {"=hunter2", "line 1: the name before ="},
		"a long name": {"hunter2" + strings.Repeat("x", maxName) + "=y",
			"line 1: the name before ="},
		"not ASCII": {"\u00e9=hunter2", "line 1: the name before ="},
		"no value":  {"hunter2=\n", "line 1: has no value"},
		"a long value": {"a=" + strings.Repeat("hunter2", maxValue/7+1),
			"line 1: the value is longer than 8192 bytes"},
		"twice":              {"a=hunter2\n#\na=hunter2", "line 3: has the name of line 1"},
		"NUL":                {"a=hunter2\x00", "line 1: has a control character"},
		"line ends of a Mac": {"a=hunter2\rb=2", "line 1: has a control character"},
		"UTF-16":             {"\xff\xfea\x00=\x00", "UTF-16: save it as UTF-8"},
		"many lines":         {many + "a=hunter2", "line 10001: a file has at most 10000 lines"},
		"a large file":       {"#" + strings.Repeat("x", maxFile), "longer than 1048576 bytes"},
	} {
		path := write(t, "secrets", tc.text)
		set, err := Load(path)
		if err == nil || set != nil || !strings.Contains(err.Error(), tc.want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the line: %v", name, err)
		}
	}
	if _, err := Load(write(t, "secrets", many)); err != nil {
		t.Errorf("as many lines as may be: %v", err)
	}
}

// TestPrivate: what others may read, and what is no file, is refused with the remedy, without
// waiting.
func TestPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	with := func(name string, mode os.FileMode) string {
		if err := os.WriteFile(at(name), []byte("a=hunter2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		return at(name)
	}
	if err := os.Symlink(at("loop"), at("loop")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(with("target", 0o644), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		with("group", 0o640): "(mode 0640): chmod 600 " + at("group"),
		with("world", 0o604): "(mode 0604): chmod 600 " + at("world"),
		with("write", 0o620): "chmod 600 ",
		at("link"):           "(mode 0644): chmod 600 " + at("link"),
		dir:                  "it is a folder",
		at("fifo"):           "it is not a regular file",
		at("loop"):           "too many levels of symbolic links",
		at("none"):           "no such file or directory: make it",
	} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	for _, mode := range []os.FileMode{0o600, 0o400} {
		if _, err := Load(with("good", mode)); err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

// TestNothingShowsAValue prints everything that holds a secret in every way that there is.
func TestNothingShowsAValue(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	folder := t.TempDir()
	file := filepath.Join(folder, "secrets")
	for path, text := range map[string]string{file: "a=" + secret + "\njar=hunter2.txt\n",
		filepath.Join(folder, "hunter2.txt"): "a.test\tTRUE\t/\tFALSE\t0\tk\t" + secret + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var logged bytes.Buffer
	log := slog.New(slog.NewMultiHandler(slog.NewTextHandler(&logged, nil),
		slog.NewJSONHandler(&logged, nil)))
	store, err := Open(file, log)
	if err != nil {
		t.Fatal(err)
	}
	value, _ := store.Lookup("a")
	cookies, err := store.CookieFile("jar")
	if err != nil || value.Reveal() != secret || cookies.Len() != 1 {
		t.Fatalf("%v; there is nothing to hide", err)
	}
	type exported struct{ V Value }
	type hidden struct{ v Value }
	for i, holder := range []any{
		value, &value, exported{value}, &exported{value}, hidden{value}, &hidden{value}, []Value{value},
		map[string]Value{"k": value}, map[Value]int{value: 1},
		struct{ v map[string]hidden }{map[string]hidden{"k": {value}}},
		[]any{value}, fmt.Errorf("wrapped: %v", value),
		cookies, []*CookieFile{cookies}, struct{ f *CookieFile }{cookies}, *cookies,
		store, struct{ s *Store }{store}, store.current(), struct{ s *Set }{store.current()},
	} {
		var b strings.Builder
		for _, verb := range "vsqxXdtTbcoOUeEfFgGp" {
			for _, flags := range []string{"", "+", "#", " ", "-040", "+#", "."} {
				fmt.Fprintf(&b, "%"+flags+string(verb)+"\n", holder)
			}
		}
		fmt.Fprintln(&b, fmt.Sprint(holder), fmt.Sprintln(holder))
		if text, err := json.Marshal(holder); err == nil {
			b.Write(text)
		}
		if text, err := xml.Marshal(holder); err == nil {
			b.Write(text)
		}
		if text, err := yaml.Marshal(holder); err == nil {
			b.Write(text)
		}
		var encoded bytes.Buffer
		_ = gob.NewEncoder(&encoded).Encode(holder) // what it cannot encode it does not show
		b.Write(encoded.Bytes())
		logged.Reset()
		log.Info("it holds", "secret", holder, slog.Any("any", holder))
		b.Write(logged.Bytes())
		for _, form := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret),
			fmt.Sprintf("% x", secret)} {
			if strings.Contains(b.String(), form) {
				t.Errorf("holder %d (%T) shows it as %q", i, holder, form)
			}
		}
	}
	for _, got := range []string{fmt.Sprint(value), fmt.Sprintf("%q", value), fmt.Sprintf("%x", value),
		fmt.Sprintf("%d", value), fmt.Sprintf("%#v", value), value.String(), value.GoString(),
		value.LogValue().String()} {
		if got != Redacted {
			t.Errorf("it prints as %q", got)
		}
	}
	if text, err := json.Marshal(exported{value}); err != nil ||
		!strings.Contains(string(text), "redacted") {
		t.Errorf("as JSON: %s, %v", text, err)
	}
	if got := (Value{}).Reveal(); got != "" {
		t.Errorf("the zero value is %q", got)
	}
}

// TestReload: a good file counts, a bad one changes nothing and is logged, and so it is with the
// cookie files in use.
func TestReload(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, jar := filepath.Join(folder, "secrets"), filepath.Join(folder, "jar.txt")
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(file, "a=1\njar=jar.txt\n")
	put(jar, "a.test\tFALSE\t/\tFALSE\t0\tk\t1\n")
	var logged bytes.Buffer
	s, err := Open(file, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	is := func(a, cookie, logs string) {
		t.Helper()
		v, _ := s.Lookup("a")
		if v.Reveal() != a {
			t.Errorf("a is %q, want %q", v.Reveal(), a)
		}
		c, err := s.CookieFile("jar")
		if err != nil {
			t.Error(err)
		} else if got := string(c.ForHost("a.test", noon)); got != cookie+"; Path=/" {
			t.Errorf("the cookies are %q, want %q", got, cookie)
		}
		if strings.Contains(logged.String(), "hunter2") {
			t.Errorf("the log shows a line:\n%s", logged.String())
		}
		if !strings.Contains(logged.String(), logs) {
			t.Errorf("the log lacks %q:\n%s", logs, logged.String())
		}
		logged.Reset()
	}
	reload := func(want string) {
		t.Helper()
		err := s.Reload()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("reload: %v, want %q", err, want)
		}
	}
	is("1", "k=1", "")
	put(jar, "a.test\tFALSE\t/\tFALSE\t0\tk\t2\n")
	is("1", "k=1", "") // nobody has said so
	put(file, "a=2\njar=jar.txt\n")
	reload("")
	is("2", "k=2", "the secrets were read again")
	put(file, "a=3\nhunter2\njar=jar.txt\n")
	reload("line 2")
	is("2", "k=2", "stay as they were")
	put(file, "a=4\njar=jar.txt\n")
	put(jar, "hunter2\n")
	reload("line 1")
	is("4", "k=2", "a cookie file was not read again")
	put(file, "a=5\n")
	reload("")
	if _, err := s.CookieFile("jar"); err == nil {
		t.Error("a secret that is gone gives cookies")
	}
	put(file, "a=6\njar=jar.txt\n") // a bad one from the beginning
	reload("")
	for range 2 {
		if _, err := s.CookieFile("jar"); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a bad cookie file: %v", err)
		}
	}
	put(jar, "a.test\tFALSE\t/\tFALSE\t0\tk\t3\n")
	reload("")
	is("6", "k=3", "")
	other := write(t, "other", "a=7\njar="+jar+"\n")
	if err := s.ReloadFrom(filepath.Join(folder, "none")); err == nil {
		t.Error("from a file that is not there")
	}
	is("6", "k=3", "")
	if err := s.ReloadFrom(other); err != nil {
		t.Error(err)
	}
	is("7", "k=3", "")
	put(other, "a=8\njar="+jar+"\n")
	reload("")
	is("8", "k=3", "")
	if err := s.ReloadFrom(""); err != nil || len(s.Names()) > 0 {
		t.Errorf("without a file there are %q, %v", s.Names(), err)
	}
}

// TestNoFile: without --secrets there are none, and nothing to read again.
func TestNoFile(t *testing.T) {
	t.Parallel()
	without, err := Open("", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{without, nil} {
		if _, ok := s.Lookup("a"); ok || len(s.Names()) > 0 || s.Reload() != nil {
			t.Errorf("%p has secrets", s)
		}
		if _, err := s.CookieFile("a"); err == nil {
			t.Errorf("%p has cookies", s)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a file that is not there")
	}
}

// FuzzParse: whatever a file holds, names are names, no value has a line end, and an error shows no
// part of a line.
func FuzzParse(f *testing.F) {
	f.Add([]byte("\ufeffa=b\r\n#c\n\nd.e-f=\tg=h "))
	f.Add([]byte("a=1\na=2"))
	f.Add([]byte("=\n\x00\n\xff\xfe"))
	f.Fuzz(func(t *testing.T, text []byte) {
		values, err := parse(text)
		if err != nil {
			if len(values) > 0 || !strings.HasPrefix(err.Error(), "line ") {
				t.Fatalf("%v and %d secrets", err, len(values))
			}
			return
		}
		var again strings.Builder
		for name, v := range values {
			if !ValidName(name) || v.Reveal() == "" || strings.ContainsFunc(v.Reveal(), isControl) {
				t.Fatalf("%q=%q", name, v.Reveal())
			}
			fmt.Fprintf(&again, "%s=%s\n", name, v.Reveal())
		}
		back, err := parse([]byte(again.String()))
		if err != nil || len(back) != len(values) {
			t.Fatalf("%q: %d secrets come back, %v", again.String(), len(back), err)
		}
	})
}
