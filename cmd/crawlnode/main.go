package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"crawlnode/cli"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Env{
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
		Lookup:     os.LookupEnv,
		Environ:    os.Environ(),
		Signals:    signals,
		Executable: executable(),
		Version:    versionName(),
	}))
}

// executable is the path of this program, for the verbs that start it again.
func executable() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// versionName is what the linker was told, else what the module system knows.
func versionName() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" &&
		info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
