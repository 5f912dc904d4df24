package machine

import (
	"fmt"
	"strings"
)

// describe writes an action as the scripts have it.
func describe(a Action) string {
	switch a := a.(type) {
	case OpenLink:
		if a.Based {
			return fmt.Sprintf("open link %d to %s, epoch %d, based on %d.%d", a.P, a.Node, a.Epoch, a.BaseEpoch, a.BaseSeq)
		}
		return fmt.Sprintf("open link %d to %s, epoch %d", a.P, a.Node, a.Epoch)
	case CloseLink:
		return fmt.Sprintf("close link %d to %s", a.P, a.Node)
	case ConfirmLink:
		return fmt.Sprintf("confirm link %d to %s", a.P, a.Node)
	case DropCopy:
		return fmt.Sprintf("drop copy %d at %s, epoch %d", a.P, a.Node, a.Epoch)
	case SetAcks:
		s := fmt.Sprintf("acks of %d: %v", a.P, a.Nodes)
		if a.Full {
			s += " full"
		}
		if a.Unsure {
			s += " unsure"
		}
		return s
	case EndAcks:
		return fmt.Sprintf("end acks of %d", a.P)
	case Record:
		return fmt.Sprintf("record %d: %s", a.P, describeSet(a.Set))
	case Freeze:
		return fmt.Sprintf("freeze %d", a.P)
	case AbortMove:
		return fmt.Sprintf("abort move %d", a.P)
	case Resume:
		return fmt.Sprintf("resume %d", a.P)
	case StoreReleased:
		return fmt.Sprintf("store released %d to %s, view %d", a.P, a.To, a.View)
	case PassToken:
		return fmt.Sprintf("pass token %d to %s, view %d, epoch %d, set %s", a.P, a.To, a.View, a.Epoch, describeSet(a.Set))
	case StoreHolder:
		return fmt.Sprintf("store holder %d", a.P)
	case StoreCopy:
		return fmt.Sprintf("store copy %d", a.P)
	case Yield:
		return fmt.Sprintf("yield %d, suspect %v", a.P, a.Suspect)
	}
	return describeTalk(a)
}

func describeTalk(a Action) string {
	switch a := a.(type) {
	case Promote:
		s := fmt.Sprintf("promote %d: %d.%d to epoch %d, set %s, same %v", a.P, a.FromEpoch, a.Seq, a.Epoch, describeSet(a.Set), a.Same)
		if a.Lost {
			s += " lost"
		}
		if a.Empty {
			s += " empty"
		}
		return s
	case Acquired:
		return fmt.Sprintf("acquired %d, epoch %d", a.P, a.Epoch)
	case Ask:
		return fmt.Sprintf("ask %v about %v, view %d", a.Members, a.Parts, a.View)
	case Tell:
		if a.Parts == nil {
			return "tell: at another view"
		}
		return fmt.Sprintf("tell of %v: holds %v", a.Parts, a.Holds)
	case RequestCopy:
		return fmt.Sprintf("request copy %d from %s, epoch %d, in place of %d.%d", a.P, a.From, a.Epoch, a.Here.Epoch, a.Here.Seq)
	case Sweep:
		return fmt.Sprintf("sweep %v", a.Parts)
	case TellUseless:
		return fmt.Sprintf("useless: %v", a.Parts)
	case Respond:
		kind := [...]string{"", "took", "refused", "later", "no copy"}[a.Reply.Kind]
		return strings.TrimSuffix(fmt.Sprintf("answer %s, view %d: %s", kind, a.Reply.View, a.Reply.Reason), ": ")
	}
	return fmt.Sprintf("%T", a)
}

// describeSet writes a version as view/number.
func describeSet(s Set) string {
	return fmt.Sprintf("%d.%d/%d %v", s.Epoch, s.Version>>32, uint32(s.Version), s.Members)
}
