package clusterkey

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fixed is the key of 32 octets 0, 1, 2...; what follows from it may never
// change.
const fixed = "crawlnode-key-1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9jDc0p"

func generate(t testing.TB) Key {
	t.Helper()
	k, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func parse(t testing.TB, text string) Key {
	t.Helper()
	k, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestDerivationIsFixed: nodes of different versions must derive the same.
func TestDerivationIsFixed(t *testing.T) {
	t.Parallel()
	k := parse(t, fixed)
	got := fmt.Sprintf("%x %s %s", k.GossipKey(), k.APIToken(), k.Fingerprint())
	const want = "c42cda08e3e8fa868d23976d43e6a643a5b5a325b6d224d187382aec75aae207 " +
		"NBIFtmQLZPn4SwLKPaYpaFUeveRs4cVwpffYQpkmtfM 56943a42d005cbad"
	if got != want {
		t.Errorf("derived %s\nwant    %s", got, want)
	}
	if again := parse(t, fixed); !bytes.Equal(again.certificate.Certificate[0],
		k.certificate.Certificate[0]) {
		t.Error("two nodes make different certificates of one key")
	}
	if k.Text() != fixed {
		t.Errorf("text = %s", k.Text())
	}
}

func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	a, b := generate(t), generate(t)
	if a.Text() == b.Text() || a.APIToken() == b.APIToken() ||
		bytes.Equal(a.GossipKey(), b.GossipKey()) || a.Fingerprint() == b.Fingerprint() {
		t.Error("two new keys have something in common")
	}
	if len(a.GossipKey()) != 32 || len(a.APIToken()) != 43 {
		t.Errorf("gossip key of %d octets, token of %d characters", len(a.GossipKey()), len(a.APIToken()))
	}
	a.GossipKey()[0]++
	if !bytes.Equal(a.GossipKey(), parse(t, a.Text()).GossipKey()) {
		t.Error("a caller can change the key")
	}
}

// TestKeyIsNotPrinted: no verb gives the secret away.
func TestKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	k := parse(t, fixed)
	for _, verb := range []string{"%v", "%+v", "%s", "%#v", "%q"} {
		for _, v := range []any{k, &k, struct{ Key Key }{k}} {
			out := fmt.Sprintf(verb, v)
			if !strings.Contains(out, k.Fingerprint()) || strings.Contains(out, k.APIToken()) ||
				strings.Contains(out, "AAECAwQF") || strings.Contains(out, "0x1f") {
				t.Errorf("%s of %T prints %s", verb, v, out)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	secret := fixed[len(prefix):]
	for text, want := range map[string]string{
		"":                          "empty",
		" \n":                       "empty",
		"hunter2":                   "no cluster key",
		"crawlnode-key-2:" + secret: "no cluster key",
		prefix:                      "truncated or altered",
		prefix + "!" + secret[1:]:   "truncated or altered",
		fixed[:len(fixed)-4]:        "truncated or altered",
		fixed + "AAAA":              "truncated or altered",
		prefix + "B" + secret[1:]:   "checksum",
		fixed + "\n" + fixed:        "more than one line",
		prefix + base64.StdEncoding.EncodeToString(make([]byte, 36)): "checksum",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want %q", text, err, want)
		} else if strings.Contains(err.Error(), secret[4:20]) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("the error shows what was read: %v", err)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	k := generate(t)
	if err := k.Save(path); err != nil {
		t.Fatal(err)
	}
	if got, err := Load(path); err != nil || got.Text() != k.Text() {
		t.Errorf("Load = %v, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	if err := k.Save(path); err == nil {
		t.Error("Save replaces a key")
	}
	if _, err := Load(dir); err == nil {
		t.Error("a folder loads as a key")
	}
	if _, err := Load(filepath.Join(dir, "none")); err == nil ||
		!strings.Contains(err.Error(), "keygen") {
		t.Errorf("missing file: %v, want how to make one", err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte(fixed+"\n"), 10000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(large); err == nil {
		t.Error("a large file loads as a key")
	}
	if runtime.GOOS == "windows" {
		return // has no such modes
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key open to everybody: %v, want a refusal", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err != nil {
		t.Errorf("a key open to its group: %v", err)
	}
}

// FuzzParse: what is read as a key is written as the same text.
func FuzzParse(f *testing.F) {
	f.Add(fixed)
	f.Add(fixed + "\n")
	f.Add(prefix + "AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := Parse(text)
		if err == nil && k.Text() != strings.TrimSpace(text) {
			t.Fatalf("%q becomes %q", text, k.Text())
		}
	})
}
