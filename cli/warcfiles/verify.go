package warcfiles

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/textproto"
	"slices"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/output/archive"
)

// VerifyVerb reads files to their end.
type VerifyVerb struct {
	files `embed:""`
}

// Help gives the examples of the verb.
func (*VerifyVerb) Help() string {
	return command.Examples("crawlnode warc verify --data-dir crawlnode-data/n1",
		"crawlnode warc verify *.warc.gz && echo all is well") + `

Each member must be whole, by its checksum, and hold one record; the digests of the
block and of the payload must be those that the record names (SHA-1; others are
not compared). The exit code is 1 when something is wrong. A record costs a few
megabytes of memory, whatever it unpacks to.`
}

// Run reads the files.
func (v *VerifyVerb) Run(ctx context.Context, env *command.Env) int {
	var records, bytes int64
	wrong := env.Errors()
	code := v.scanBy(ctx, env, archive.ScanDigests, func(path string, r *archive.Record) error {
		records++
		bytes += r.Length
		if err := r.Verify(); err != nil {
			wrong.Add(func() string { return fmt.Sprintf("%s: %v", path, err) })
		}
		return nil
	})
	wrong.End()
	fmt.Fprintf(env.Stdout, "%s records, %s, %s with another digest\n", plaintext.Count(records),
		plaintext.Bytes(bytes), plaintext.Count(wrong.Count()))
	if wrong.Count() > 0 && code == command.ExitOK {
		return command.ExitError
	}
	return code
}

// writeFields writes the fields of a record, by name.
func writeFields(out io.Writer, fields textproto.MIMEHeader) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, value := range fields[name] {
			if _, err := fmt.Fprintf(out, "%s: %s\r\n", name, value); err != nil {
				return err
			}
		}
	}
	return nil
}
