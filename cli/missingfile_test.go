package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/cli/command"
)

// TestMissingFiles: a file or a folder that is named and not there is wrong use, whatever the verb,
// and nothing is made for it.
func TestMissingFiles(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	for _, verb := range []string{
		"cat http://a.test/ --data-dir NONE",
		"config print --config NONE",
		"crawl --seeds NONE --contact me@example.org --data-dir NEW",
		"crawl http://a.test/ --exclude-file NONE --contact me@example.org --data-dir NEW",
		"export bulk --data-dir NONE",
		"export cdxj --data-dir NONE",
		"export files --data-dir NONE -o NEW",
		"export jsonl --data-dir NONE",
		"export parquet --data-dir NONE -o NEW",
		"export wacz --data-dir NONE -o NEW",
		"focus score NONE",
		"focus train --like NONE --unlike NONE -o NEW",
		"graph rank NONE",
		"graph rank - --temp-dir NONE",
		"index NONE --data-dir NEW",
		"replay NONE",
		"scope test http://a.test/ --exclude-file NONE",
		"search words --data-dir NONE",
		"seeds add -f NONE",
		"start --cluster-key-file NONE --data-dir NEW",
		"start --config NONE --data-dir NEW",
		"start --focus NONE --data-dir NEW",
		"status --cluster-key-file NONE",
		"status --token-file NONE",
		"stop --data-dir NONE",
		"urls list --data-dir NONE",
		"warc extract NONE --offset 0",
		"warc list --data-dir NONE",
		"warc list NONE",
		"warc verify NONE",
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			made := filepath.Join(t.TempDir(), "new")
			args := strings.Fields(strings.NewReplacer("NONE", none, "NEW", made).Replace(verb))
			run(t, "", args...).want(t, command.ExitUsage, "", none)
			if _, err := os.Lstat(made); err == nil {
				t.Error("something was made all the same")
			}
		})
	}
}
