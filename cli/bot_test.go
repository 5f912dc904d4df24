package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/cli/command"
)

// TestBotVerbs makes a key, prints its directory, and rotates it.
func TestBotVerbs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, next, both := filepath.Join(dir, "old.pem"), filepath.Join(dir, "new.pem"), filepath.Join(dir,
		"both.pem")
	run(t, "", "keygen", "--bot", old).want(t, command.ExitOK, old+": a new bot key", "")
	run(t, "", "keygen", "--bot", old).want(t, command.ExitUsage, "", "is there already")
	run(t, "", "keygen", "--bot", "--keep", old).want(t, command.ExitOK, "it stays", "")
	run(t, "", "keygen", "--bot", next).want(t, command.ExitOK, "", "")
	var pem []byte
	for _, file := range []string{next, old} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(text), "-----BEGIN PRIVATE KEY-----\n") {
			t.Fatalf("%s: %q, %v", file, text, err)
		}
		pem = append(pem, text...)
	}
	if err := os.WriteFile(both, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	ids := func(file string) (ids []string) {
		r := run(t, "", "bot", "directory", "--bot-key", file)
		r.want(t, command.ExitOK, `"crv":"Ed25519"`, "")
		var set struct{ Keys []struct{ Kid string } }
		if err := json.Unmarshal([]byte(r.out), &set); err != nil {
			t.Fatal(err)
		}
		for _, k := range set.Keys {
			ids = append(ids, k.Kid)
		}
		return ids
	}
	if got, want := strings.Join(ids(both), " "), ids(next)[0]+" "+ids(old)[0]; got != want {
		t.Errorf("both: %s, want %s", got, want)
	}
	run(t, "", "bot", "directory").want(t, command.ExitUsage, "", "--bot-key")
	run(t, "", "keygen", "--bot", "--token", old).want(t, command.ExitUsage, "", "")
}

// TestBotFlags: both flags or neither, and a key that can be read.
func TestBotFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, made := filepath.Join(dir, "bot.pem"), filepath.Join(dir, "data")
	run(t, "", "keygen", "--bot", key).want(t, command.ExitOK, "", "")
	run(t, "", "worker", "--bot-key", key).want(t, command.ExitUsage, "", "both or neither")
	run(t, "", "worker", "--bot-key", key, "--bot-agent", "http://bot.example").want(t,
		command.ExitUsage, "", "https://")
	for args, want := range map[string]string{
		"--bot-key " + key:                                      "both or neither",
		"--bot-agent https://bot.example":                       "both or neither",
		"--bot-key " + key + " --bot-agent http://bot.example":  "https://",
		"--bot-key " + dir + " --bot-agent https://bot.example": "not a file",
	} {
		run(t, "", append([]string{"start", "--data-dir", made}, strings.Fields(args)...)...).want(t,
			command.ExitUsage, "", want)
		if _, err := os.Lstat(made); err == nil {
			t.Errorf("%s: something was made all the same", args)
		}
	}
}
