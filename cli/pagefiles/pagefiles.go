package pagefiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/local/files"
	"crawlnode/output/mirror"
	"crawlnode/output/readback"
	"crawlnode/settings/crawldoc"
	"crawlnode/web/normalize"
	"crawlnode/web/preferences"
)

// Output is a folder that pages are written to. Nil writes nothing.
type Output struct {
	env    *command.Env
	folder *mirror.Folder
}

// Limit bounds what the payload of a file is unpacked to, in bytes; 0: mirror.MaxContent. It is
// called before Write.
func (o *Output) Limit(bytes int64) { o.folder.MaxBody = bytes }

// Form has pages written in another form.
func (o *Output) Form(f *mirror.Form) { o.folder.Form = f }

// Skip leaves out URLs; nil: none. It is called before Write.
func (o *Output) Skip(skip func(url, said string) bool) { o.folder.Skip = skip }

// Open opens a folder, or returns the exit code after saying why it cannot be used. dataDirs are
// those of the nodes whose pages are written.
func Open(env *command.Env, dir string, dataDirs ...string) (*Output, int) {
	folder, err := mirror.Open(dir, dataDirs...)
	switch {
	case errors.Is(err, mirror.ErrRefused):
		return nil, env.Fail(command.ExitUsage, "--output: %v", err)
	case err != nil:
		return nil, env.Fail(codeOf(err), "--output: %v", err)
	}
	return &Output{env, folder}, command.ExitOK
}

// codeOf is the exit code of an error of the disk.
func codeOf(err error) int {
	if files.NoRoom(err) {
		return command.ExitSafety
	}
	return command.ExitStorage
}

// Close lets the folder go.
func (o *Output) Close() {
	if o != nil {
		_ = o.folder.Close() // everything is written, and the next run removes what is left
	}
}

// Source is where captures come from, with the rules by which their crawl takes URLs for one page.
type Source interface {
	mirror.Source
	Normalize(ctx context.Context) ([]string, error)
}

// Write writes the pages of a source and returns the exit code. resume is a command that goes on.
func (o *Output) Write(ctx context.Context, src Source, resume string) int {
	names, err := src.Normalize(ctx)
	if err != nil {
		return o.env.Fail(command.ExitError, "--output: the crawl's settings: %v", err)
	}
	rules, err := normalize.Parse(names)
	if err != nil {
		return o.env.Fail(command.ExitError,
			"--output: %v: a newer crawlnode has crawled this; use that one", err)
	}
	o.folder.Same = rules.Apply
	line := command.NewProgress(o.env.Stderr)
	drawn := time.Time{}
	sum, err := o.folder.Write(ctx, src, func(done, total int64) {
		if now := time.Now(); now.Sub(drawn) >= 100*time.Millisecond {
			drawn = now
			line.Draw("writing files: %s of %s URLs", plaintext.Count(done), plaintext.Count(total))
		}
	})
	line.End()
	text := plaintext.Count(sum.Files) + " files"
	if sum.Files == 1 {
		text = "1 file"
	}
	text += fmt.Sprintf(" in %s, %s written (%s); %s redirects, %s URLs without a page",
		o.folder.Dir(), plaintext.Count(sum.Written), plaintext.Bytes(sum.Bytes),
		plaintext.Count(sum.Redirects), plaintext.Count(sum.Without))
	if sum.Failed > 0 {
		text += fmt.Sprintf(", %s that failed", plaintext.Count(sum.Failed))
	}
	if sum.Cut > 0 {
		text += fmt.Sprintf(", %s cut at %s (--max-body)", plaintext.Count(sum.Cut),
			plaintext.Bytes(cmp.Or(o.folder.MaxBody, mirror.MaxContent)))
	}
	switch {
	case err == nil:
		fmt.Fprintln(o.env.Stdout, "files: "+plaintext.Escape(text+"; manifest.jsonl lists them"))
		return command.ExitOK
	case ctx.Err() != nil:
		fmt.Fprintln(o.env.Stdout, "files: "+plaintext.Escape("interrupted: "+text))
		fmt.Fprintln(o.env.Stdout, "next: "+plaintext.Escape(resume+" writes the rest"))
		return command.ExitInterrupted
	case files.NoRoom(err):
		return o.env.Fail(command.ExitSafety,
			"--output: no space is left for %s, after %s: free some and run %s, which writes the rest",
			o.folder.Dir(), text, resume)
	}
	return o.env.Fail(codeOf(err), "--output: %v", err)
}

// AfterCrawl writes the pages of a crawl that has ended with a code, and returns the code of the
// whole. After an interruption what was fetched is written too, until the next signal. A crawl that
// was forced to end, or that failed, writes nothing: resume does.
func (o *Output) AfterCrawl(ctx context.Context, code int, dataDir, resume string) int {
	switch {
	case o == nil || dataDir == "" || code == command.ExitError: // or no seed could be fetched
		return code
	case code != command.ExitOK && code != command.ExitInterrupted:
		fmt.Fprintln(o.env.Stdout,
			"next: "+plaintext.Escape(resume+" writes the files of what was fetched"))
		return code
	}
	src, err := DataDirs([]string{dataDir})
	if err != nil {
		return max(code, o.env.Fail(command.ExitStorage, "--output: %v", err))
	}
	defer func() { _ = src.Close() }() // it is in the system's folder of temporary files
	ctx, cancel := o.env.UntilSignal(ctx)
	defer cancel()
	own, err := SettingsOf([]string{dataDir})
	if err != nil {
		return max(code, o.env.Fail(command.ExitStorage, "--output: %v", err))
	}
	if own != nil {
		omit := &readback.Omit{Now: time.Now(), Purposes: own.Obeyed()}
		o.Skip(omit.Capture)
		defer func() { TellRefused(o.env, omit) }()
	}
	if written := o.Write(ctx, src, resume); code == command.ExitOK || written == command.ExitSafety {
		return written
	}
	return code
}

// Directories is a Source: the archives in data directories.
type Directories struct {
	*readback.Archives
	first string // the directories are those of one crawl
}

// SettingsOf are the settings of the crawl in data directories that decide what is left out, from
// the crawl document, which every node has; nil: only the archives were copied. Paths that are no
// directories have none. Nodes that were stopped at different times may have different ones: owners
// are obeyed if one of them does, for all of its purposes.
func SettingsOf(paths []string) (*crawl.Settings, error) {
	var all *crawl.Settings
	purposes := preferences.Purposes(0)
	for _, path := range paths {
		own, err := crawldoc.ReadSettings(path)
		switch {
		case errors.Is(err, syscall.ENOTDIR), err == nil && own == nil:
			continue
		case err != nil:
			return nil, err
		case all == nil || own.ObeysPreferences() && !all.ObeysPreferences():
			all = own
		}
		purposes |= own.Obeyed()
	}
	if purposes != 0 {
		united := *all
		united.Purpose = purposes.String()
		all = &united
	}
	return all, nil
}

// SettingsOfCluster are those of a running crawl that decide what is left out.
func SettingsOfCluster(ctx context.Context, c *client.Client) (*crawl.Settings, error) {
	report, err := c.CrawlConfig(ctx)
	if err != nil {
		return nil, err
	}
	return &crawl.Settings{
		Preferences: report.Settings.Text("preferences"),
		Purpose:     report.Settings.Text("purpose"),
	}, nil
}

// TellRefused tells how many captures were left out for their owners' word.
func TellRefused(env *command.Env, o *readback.Omit) {
	if n := o.Refused(); n > 0 {
		env.Fail(0, "%s left out: their owners said no to %s (--preferences)",
			plaintext.CountOf(n, "capture"), o.Purposes)
	}
}

// Normalize reads the rules from the crawl document, which every node has.
func (d Directories) Normalize(context.Context) ([]string, error) {
	settings, err := crawldoc.ReadSettings(d.first)
	if err != nil || settings == nil { // without one only the archive was copied
		return nil, err
	}
	return settings.Normalize, nil
}

// DataDirs is the source of the archives in data directories. The caller closes it.
func DataDirs(dirs []string) (src Directories, err error) {
	for _, dir := range dirs {
		if info, err := os.Stat(filepath.Join(dir, "warc")); err != nil || !info.IsDir() {
			return src, fmt.Errorf(
				"%s has no folder warc: give the data directory of a node that stores pages", dir)
		}
	}
	src.first = dirs[0]
	src.Archives, err = readback.Open(dirs...)
	return src, err
}

// OpenDataDirs opens the archives in data directories, and tells which of their files cannot be
// read whole. code is the exit code after all others were read; nil: it is that of now.
func OpenDataDirs(env *command.Env, dirs []string) (a *readback.Archives, code int) {
	src, err := DataDirs(dirs)
	if err != nil {
		return nil, env.Fail(command.ExitUsage, "--data-dir: %v", err)
	}
	return src.Archives, Warn(env, src.Archives)
}

// Warn tells which files cannot be read whole, and returns the exit code after the others were
// read.
func Warn(env *command.Env, a *readback.Archives) int {
	code := command.ExitOK
	for _, w := range a.Warnings {
		code = env.Fail(command.ExitError, "%v", w)
	}
	return code
}
