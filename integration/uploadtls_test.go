package integration

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/output/upload/s3test"
)

// TestUploadOverTLS copies the files of a crawl to a store whose certificate an authority of one's
// own has signed: the command says so and fails until the environment names that authority. Then it
// copies what waits.
func TestUploadOverTLS(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<title>a page</title><p>text") // the crawler is told if it fails
	}))
	t.Cleanup(site.Close)
	store := s3test.New(t.Cleanup)
	secure := httptest.NewUnstartedServer(store)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that is to fail
	secure.StartTLS()
	t.Cleanup(secure.Close)
	dir := t.TempDir()
	authority := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(authority,
		pem.EncodeToMemory(&pem.Block{
			Type:  "CERTIFICATE",
			Bytes: secure.Certificate().Raw,
		}), 0o600); err != nil {
		t.Fatal(err)
	}
	crawl := func(env ...string) (said string, err error) {
		args := append([]string{"crawl", site.URL + "/", "--data-dir", filepath.Join(dir, "data"),
			"--contact", "me@example.org", "--allow-net", "127.0.0.0/8",
			"--upload", "s3://bucket/crawls?region=us-east-1", "--upload-endpoint", secure.URL,
			"--keep-local", "none"}, ownPorts(t)...)
		cmd := exec.CommandContext(t.Context(), binary(t), args...)
		cmd.Env = append(append(os.Environ(), "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"),
			env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if said, err := crawl(); err == nil || !strings.Contains(said, "certificate") {
		t.Errorf("with an authority that nobody knows the crawl ends with %v, and says:\n%s", err, said)
	}
	if bodies, _ := store.Objects(); len(bodies) > 0 {
		t.Errorf("a store whose certificate is not trusted got %d objects", len(bodies))
	}
	if said, err := crawl("SSL_CERT_FILE=" + authority); err != nil {
		t.Errorf("with its authority the crawl ends with %v, and says:\n%s", err, said)
	}
	if got := store.Find(".warc.gz"); len(got) == 0 {
		t.Error("the store has no archive file")
	}
}
