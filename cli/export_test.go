package cli

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/api"
	"crawlnode/cli/command"
)

func (fakeNode) WriteIndex(_ context.Context, out io.Writer) error {
	_, err := io.WriteString(out, "org,a)/ 20261121101112 {}\n")
	return err
}

// brokenNode breaks its index off.
type brokenNode struct{ fakeNode }

func (brokenNode) WriteIndex(_ context.Context, out io.Writer) error {
	_, err := io.WriteString(out, strings.Repeat("org,a)/ 20261121101112 {}\n", 10_000))
	return errors.Join(err, errors.New("n2 has gone"))
}

func TestExport(t *testing.T) {
	t.Parallel()
	addr := fakeAddr(t)
	run(t, "", "export", "cdxj", "--addr", addr).want(t, command.ExitOK, "org,a)/ 20261121101112 {}\n",
		"n3 has failed")
	file := filepath.Join(t.TempDir(), "index.cdxj")
	run(t, "", "export", "cdxj", "--addr", addr, "-o", file).want(t, command.ExitOK, "",
		"n3 has failed")
	if b, err := os.ReadFile(file); string(b) != "org,a)/ 20261121101112 {}\n" {
		t.Errorf("%q, %v", b, err)
	}
	run(t, "", "export", "cdxj", "--addr", addr, "-o", filepath.Join(file, "x")).want(t,
		command.ExitError, "", "not a directory")
	missing := filepath.Join(t.TempDir(), "none")
	for _, verb := range []string{"cdxj", "jsonl", "bulk", "wacz", "parquet"} {
		output := filepath.Join(missing, "x.parquet")
		run(t, "", "export", verb, "--addr", addr, "-o", output).want(t, command.ExitError, "",
			output+" cannot be written: the folder "+missing+" does not exist: make it first")
	}

	s := httptest.NewServer(api.New(brokenNode{}, api.Options{}))
	defer s.Close()
	broken := filepath.Join(t.TempDir(), "broken.cdxj")
	run(t, "", "export", "cdxj", "--addr", s.Listener.Addr().String(), "-o", broken).want(t,
		command.ExitError, "", "is incomplete")
	if entries, _ := os.ReadDir(filepath.Dir(broken)); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}
