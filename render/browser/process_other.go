//go:build !linux

package browser

import (
	"context"
	"os"
	"os/exec"
)

// Only Linux has what keeps a browser within its limits and ends it for certain: New refuses
// elsewhere.

const profileVariable = "CRAWLNODE_BROWSER_PROFILE"

type entry struct{ pid int }

type process struct{ entry }

func contain(*exec.Cmd)                      {}
func family(string, ...int) []entry          { return nil }
func killFamily(string, ...int) map[int]bool { return nil }
func reap(map[int]bool)                      {}
func ownProcess(int, []entry) int            { return 0 }
func openProcess(int) (*process, error)      { return nil, os.ErrProcessDone }
func (*process) await(context.Context) bool  { return true }
func (*process) close()                      {}
func groupsMemory(map[int]bool) int64        { return 0 }
func groupsOf([]entry) map[int]bool          { return nil }
