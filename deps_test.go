package crawlnode

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// debian is a system of scripts on which .ci/deps is tried: what is installed, what apt-get would
// do, and what it was asked for.
type debian struct {
	root, bin, log string
}

// The programs of a system. apt-get plans an upgrade for the packages that start with "new", and
// what it installs enables a service, and starts it if it may.
var debianPrograms = map[string]string{
	"id": `echo "$TEST_UID"`,
	"dpkg-query": `for p in $TEST_INSTALLED; do
  if [ "$p" = "${@: -1}" ]; then printf 'install ok installed'; exit 0; fi
done
exit 1`,
	"update-rc.d": `mv "$DEPS_ETC/rc2.d/S01$1" "$DEPS_ETC/rc2.d/K01$1"`,
	"apt-get": `echo "apt-get $*" >>"$TEST_LOG"
case " $* " in *" update "*) exit 0 ;; esac
all=$*
packages=${all##* install }
for p in $packages; do
  case $p in
    --* | -* | *::*) continue ;;
    new*) echo "Inst libold [1.0] (1.1 Debian:12/stable [amd64])" ;;
  esac
  echo "Inst $p (1.0 Debian:12/stable [amd64])"
done
case " $* " in *" -s "*) exit 0 ;; esac
ln -s /lib/x.service "$DEPS_ETC/systemd/system/multi-user.target.wants/x.service"
: >"$DEPS_ETC/rc2.d/S01x"
"$DEPS_POLICY" x start || { echo "policy $?" >>"$TEST_LOG"; exit 0; }
echo started >>"$TEST_LOG"`,
}

func newDebian(t *testing.T) *debian {
	t.Helper()
	d := &debian{root: t.TempDir(), bin: t.TempDir()}
	d.log = filepath.Join(d.root, "log")
	const wanted = "etc/systemd/system/multi-user.target.wants"
	for _, dir := range []string{wanted, "etc/rc2.d", "etc/apt"} {
		if err := os.MkdirAll(filepath.Join(d.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, kept := range []string{wanted + "/old.service", "etc/rc2.d/S01old"} {
		if err := os.Symlink("/lib/old.service", filepath.Join(d.root, kept)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range debianPrograms {
		writeProgram(t, filepath.Join(d.bin, name), "#!/bin/bash\n"+text+"\n")
	}
	return d
}

// writeProgram writes a program that may be run.
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	// Whoever forks meanwhile would hold the file open for writing, and it could not be run (execve(2), ETXTBSY).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}

// deps runs the script.
func (d *debian) deps(t *testing.T, uid, installed string, packages ...string) (
	code int, stdout, stderr, log string,
) {
	t.Helper()
	cmd := exec.Command(".ci/deps", packages...)
	cmd.Env = append(os.Environ(), "PATH="+d.bin+":"+os.Getenv("PATH"),
		"DEPS_ETC="+filepath.Join(d.root, "etc"), "DEPS_POLICY="+filepath.Join(d.root, "policy-rc.d"),
		"TEST_UID="+uid, "TEST_INSTALLED="+installed, "TEST_LOG="+d.log)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	b, err := os.ReadFile(d.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String(), string(b)
}

// services are those that start with the system.
func (d *debian) services(t *testing.T) string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"etc/systemd/system/*.wants/*", "etc/rc2.d/S*"} {
		found, err := filepath.Glob(filepath.Join(d.root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			names = append(names, filepath.Base(f))
		}
	}
	return strings.Join(names, " ")
}

// TestDepsLeaveTheSystemAsItIs: make deps says what it installs before it does, starts no service
// and leaves none enabled, and installs nothing for which a package that is there would be
// upgraded; what it cannot install it names.
func TestDepsLeaveTheSystemAsItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, uid, installed, packages string
		code                           int
		says, names                    string // on standard output and standard error; "": nothing
		install                        string // what apt-get is asked to install; "": it is not asked
	}{
		{"nothing is missing", "0", "a b", "a b", 0, "", "", ""},
		{"another one will do", "0", "a c", "a b|c", 0, "", "", ""},
		{"none of two", "0", "a", "a b|c", 0, "installs from Debian: b, and", "", "b"},
		{"not root", "1000", "a", "a b c", 1, "", "missing: b c.", ""},
		{"some are missing", "0", "a", "a b c", 0,
			"installs from Debian: b c, and 0 packages that they " +
				"need; upgrades, enables and starts nothing", "", "b c"},
		{"one wants an upgrade", "0", "a", "b new c", 1, "installs from Debian: b c, and",
			"without an upgrade of what is there: new.", "b c"},
		{"all want an upgrade", "0", "", "new1 new2", 1, "", "missing: new1 new2.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDebian(t)
			code, out, errs, log := d.deps(t, c.uid, c.installed, strings.Fields(c.packages)...)
			first, _, _ := strings.Cut(out, "\n")
			if code != c.code || !strings.HasPrefix(first, c.says) || (c.says == "") != (out == "") ||
				!strings.Contains(errs, c.names) || (c.names == "") != (errs == "") {
				t.Errorf("exit code %d\n%s\n%s\nwant %d, %q, %q", code, out, errs, c.code, c.says, c.names)
			}
			asked := ""
			for line := range strings.Lines(log) {
				if strings.Contains(line, " install ") && !strings.Contains(line, " -s ") {
					line = strings.TrimSpace(line)
					asked = line[len(line)-min(len(line), len(c.install)):]
					for _, option := range []string{
						"Upgrade-By-Source-Package=false", "--no-remove", "--no-install-recommends", "preferences=",
					} {
						if !strings.Contains(line, option) {
							t.Errorf("apt-get is called without %s: %s", option, line)
						}
					}
				}
			}
			kept := strings.Contains(log, "policy 101") // from starting
			if asked != c.install || strings.Contains(log, "started") || (c.install != "") != kept {
				t.Errorf("want %q installed, and nothing started:\n%s", c.install, log)
			}
			if got := d.services(t); got != "old.service S01old" {
				t.Errorf("services that start with the system: %s", got)
			}
			if _, err := os.Stat(filepath.Join(d.root, "policy-rc.d")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the policy for services is left: %v", err)
			}
		})
	}
}

// A policy that lets services start is there again afterwards.
func TestDepsKeepThePolicy(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	policy, text := filepath.Join(d.root, "policy-rc.d"), "#!/bin/sh\nexit 0\n"
	writeProgram(t, policy, text)
	if code, _, errs, log := d.deps(t, "0", "", "a"); code != 0 || strings.Contains(log, "started") {
		t.Errorf("exit code %d: %s\n%s", code, errs, log)
	}
	if got, err := os.ReadFile(policy); err != nil || string(got) != text {
		t.Errorf("the policy is %q, %v", got, err)
	}
}
