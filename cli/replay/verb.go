package replay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/cli/pagefiles"
	"crawlnode/cli/remote"
	"crawlnode/output/readback"
)

// Verb shows archived pages in a browser.
type Verb struct {
	remote.Flags      `embed:""`
	command.Unpacking `embed:""`
	command.Excluding `embed:""`
	command.Obeying   `embed:""`
	Paths             []string `arg:"" optional:"" name:"path" help:"Data directories, WARC and WACZ files, and folders of such; without any a running node is asked (--addr)."`
	Listen            string   `default:"127.0.0.1:27299" group:"output" placeholder:"ADDR" help:"Where pages are shown, on loopback."`
}

// Help gives the examples of the verb and says what it shows.
func (*Verb) Help() string {
	return command.Examples("crawlnode replay crawlnode-data/n1",
		"crawlnode replay crawl-00000.warc.gz crawl-00001.warc.gz", "crawlnode replay collection.wacz",
		"crawlnode replay --addr 127.0.0.1:27295") + `

Pages as they were, from the archive alone: links, pictures and style sheets lead
to their captures nearest in time, and nothing is loaded from the web. Scripts do
not run. /web/TIME/URL shows a URL at a time, /timemap/link/URL lists its captures;
Memento clients (RFC 7089) can ask too. The front page lists the sites. The WARC
files in a WACZ file are copied to the folder for temporary files (TMPDIR) while
they are shown. It serves until it is interrupted.`
}

// Run serves until a signal comes.
func (v *Verb) Run(ctx context.Context, env *command.Env) int {
	host, _, err := net.SplitHostPort(v.Listen)
	if ip, ipErr := netip.ParseAddr(host); err != nil || ipErr != nil || !ip.IsLoopback() {
		return env.Fail(command.ExitUsage, "--listen: %s must be an address on loopback with a port, "+
			"such as 127.0.0.1:27299: whoever can reach it reads the archive", v.Listen)
	}
	if len(v.Paths) > 0 && v.Addr != "" {
		return env.Fail(command.ExitUsage,
			"name data directories, WARC or WACZ files, or a running node with --addr, not both")
	}
	omit := &readback.Omit{Now: time.Now()}
	if omit.URL, err = v.Excluded(); err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	if _, err := v.Purposes(nil); err != nil { // before anybody is asked
		return env.Fail(command.ExitUsage, "%v", err)
	}
	left := func(src source) source {
		if omit.Nothing() {
			return src
		}
		return without{src, omit}
	}
	if len(v.Paths) == 0 {
		return v.Ask(ctx, env, func(ctx context.Context, c *client.Client) error {
			own, err := pagefiles.SettingsOfCluster(ctx, c)
			if err == nil {
				omit.Purposes, err = v.Purposes(own)
			}
			if err != nil {
				return err
			}
			return v.serve(ctx, env, newServer(left(cluster{readback.Cluster{Node: c}, c}), v.Most()))
		})
	}
	own, err := pagefiles.SettingsOf(v.Paths)
	if err == nil {
		omit.Purposes, err = v.Purposes(own)
	}
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	dirs, err := readback.Open(v.Paths...)
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	defer func() { _ = dirs.Close() }() // it is in the system's folder of temporary files
	for _, w := range dirs.Warnings {
		env.Fail(0, "%v", w)
	}
	if dirs.Empty() {
		return env.Fail(command.ExitUsage, "%s: %v", strings.Join(v.Paths, ", "), readback.ErrNoFiles)
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	show := newServer(left(folders{dirs}), v.Most())
	show.starts = dirs.Starts
	if err := v.serve(ctx, env, show); err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	return command.ExitOK
}

// serve serves until ctx ends.
func (v *Verb) serve(ctx context.Context, env *command.Env, show *server) error {
	l, err := net.Listen("tcp", v.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	fmt.Fprintln(env.Stdout, plaintext.Escape("replay: http://"+l.Addr().String()+"/"))
	srv := &http.Server{Handler: show, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: 5 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	counting, enough := context.WithCancel(ctx)
	var counted sync.WaitGroup
	counted.Go(func() { show.count(counting) })
	defer counted.Wait()
	defer enough()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		_ = srv.Close() // readers had two seconds
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
