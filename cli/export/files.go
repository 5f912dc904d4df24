package export

import (
	"context"
	"time"

	"crawlnode/api/client"
	"crawlnode/cli/command"
	"crawlnode/cli/pagefiles"
	"crawlnode/cli/remote"
	"crawlnode/output/mirror"
	"crawlnode/output/readback"
)

// tree says what of a crawl is written as files, and from where.
type tree struct {
	remote.Flags      `embed:""`
	command.Unpacking `embed:""`
	command.Excluding `embed:""`
	command.Obeying   `embed:""`
	DataDir           []string `name:"data-dir" sep:"none" group:"output" placeholder:"DIR" help:"Read the archive in this node's data directory instead of asking a node; the node need not run; repeatable."`
}

// FilesVerb writes the newest capture of each URL as a file.
type FilesVerb struct {
	tree   `embed:""`
	Output string `short:"o" required:"" group:"output" placeholder:"DIR" help:"The folder to write to: a new or an empty one, or that of an earlier run, which goes on."`
}

// Help gives the examples of the verb and says what it writes.
func (*FilesVerb) Help() string {
	return command.Examples("crawlnode export files --data-dir crawlnode-data/n1 --output site",
		"crawlnode export files --addr 127.0.0.1:27305 --output site") + `

The newest capture of each URL becomes a file by host and path. Links to what was
saved are relative, all others absolute; DIR/manifest.jsonl has a line for each
URL. The same command again writes what is new, or goes on where it was stopped.`
}

// Run writes the files.
func (v *FilesVerb) Run(ctx context.Context, env *command.Env) int {
	return v.write(ctx, env, v.Output, nil)
}

// write writes the files of the newest captures to dir, in a form or as they are.
func (v *tree) write(ctx context.Context, env *command.Env, dir string, form *mirror.Form) int {
	omit := &readback.Omit{Now: time.Now()}
	var err error
	if omit.URL, err = v.Excluded(); err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	if _, err := v.Purposes(nil); err != nil { // before anybody is asked
		return env.Fail(command.ExitUsage, "%v", err)
	}
	var src pagefiles.Directories
	damaged := command.ExitOK
	if len(v.DataDir) > 0 {
		if src, err = pagefiles.DataDirs(v.DataDir); err != nil {
			return env.Fail(command.ExitUsage, "--data-dir: %v", err)
		}
		defer func() { _ = src.Close() }() // it is in the system's folder of temporary files
		damaged = pagefiles.Warn(env, src.Archives)
	}
	out, code := pagefiles.Open(env, dir, v.DataDir...)
	if code != command.ExitOK {
		return code
	}
	defer out.Close()
	out.Form(form)
	out.Limit(v.Most())
	out.Skip(omit.Capture)
	defer func() { pagefiles.TellRefused(env, omit) }()
	const resume = "the same command"
	if len(v.DataDir) == 0 {
		asked := v.Ask(ctx, env, func(ctx context.Context, c *client.Client) error {
			own, err := pagefiles.SettingsOfCluster(ctx, c)
			if err == nil {
				omit.Purposes, err = v.Purposes(own)
			}
			if err != nil {
				return err
			}
			code = out.Write(ctx, pagefiles.ClusterOf(c), resume)
			return nil
		})
		return max(asked, code)
	}
	own, err := pagefiles.SettingsOf(v.DataDir)
	if err == nil {
		omit.Purposes, err = v.Purposes(own)
	}
	if err != nil {
		return env.Fail(command.ExitUsage, "--data-dir: %v", err)
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	return max(damaged, out.Write(ctx, src, resume))
}
