package export

import (
	"context"
	"fmt"
	"os"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/cli/pagefiles"
	"crawlnode/output/readback"
)

// WARCVerb writes WARC files anew.
type WARCVerb struct {
	command.Excluding `embed:""`
	command.Obeying   `embed:""`
	DataDir           []string `name:"data-dir" required:"" sep:"none" group:"output" placeholder:"DIR" help:"The data directory of a node; the node need not run; repeatable."`
	Output            string   `short:"o" required:"" group:"output" placeholder:"DIR" help:"The folder to write to, which must be empty or missing."`
}

// Help gives the examples of the verb and says what it writes.
func (*WARCVerb) Help() string {
	return command.Examples(
		"crawlnode export warc --data-dir crawlnode-data/n1 --exclude '*/calendar/*' -o clean",
		"crawlnode export warc --data-dir crawlnode-data/n1 --exclude-file traps.txt -o clean") + `

The WARC files of data directories are written anew, under their names, with an
index of each. With --exclude, the records of URLs that match are left out, with
their requests and what else belongs to them; all others are copied byte for byte.
A page whose content was stored with a URL that is left out gets it: its record
becomes a response. The files that are read are not changed: to have the space of
what is left out, remove them when the new ones are whole (crawlnode warc verify).`
}

// Run writes the files.
func (v *WARCVerb) Run(ctx context.Context, env *command.Env) int {
	omit := &readback.Omit{Now: time.Now()}
	var err error
	if omit.URL, err = v.Excluded(); err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	own, err := pagefiles.SettingsOf(v.DataDir)
	if err == nil {
		omit.Purposes, err = v.Purposes(own)
	}
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	if err := emptyFolder(v.Output); err != nil {
		return env.Fail(command.ExitUsage, "--output: %v", err)
	}
	dirs, code := pagefiles.OpenDataDirs(env, v.DataDir)
	if dirs == nil {
		return code
	}
	defer func() { _ = dirs.Close() }() // it is in the system's folder of temporary files
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	done, err := dirs.Rewrite(ctx, v.Output, omit)
	switch {
	case ctx.Err() != nil:
		return env.Fail(command.ExitInterrupted, "interrupted: the files in %s are not whole", v.Output)
	case err != nil:
		return env.Fail(command.ExitStorage, "the files in %s are not whole: %v", v.Output, err)
	}
	text := fmt.Sprintf("%s, %s in %s; %s left out", plaintext.CountOf(done.Captures, "capture"),
		plaintext.CountOf(done.Files, "file"), v.Output, plaintext.Count(done.LeftOut))
	if done.Completed > 0 {
		text += fmt.Sprintf("; %s given the content shared with those", plaintext.Count(done.Completed))
	}
	fmt.Fprintln(env.Stdout, plaintext.Escape(text))
	pagefiles.TellRefused(env, omit)
	return code
}

// emptyFolder makes a folder, or checks that it is empty.
func emptyFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty: give a new folder", dir)
	}
	return err
}
