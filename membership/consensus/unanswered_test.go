package consensus

import "testing"

// TestUnansweredIsNotAdmitted: a node that is heard and answers no call is asked each
// second, and is admitted as soon as it answers, not before.
func TestUnansweredIsNotAdmitted(t *testing.T) {
	t.Parallel()
	a := Member{ID: "a", Name: "na", Boot: 1, Since: 1}
	c := New(Identity{ID: "a", Boot: 1, Cluster: testCluster}, State{View: &View{Number: 1, Cluster: testCluster, Members: []Member{a}}})
	b := Sighting{ID: "b", Name: "nb", Boot: 1, Status: Joining, Unanswered: true}
	hellos := 0
	pass := func(ticks int) {
		for range ticks {
			c.Step(Seen{[]Sighting{{ID: "a", Name: "na", Boot: 1, Status: Active}, b}})
			c.Step(Heard{ID: "b", Boot: 1})
			for _, action := range c.Step(Tick{}) {
				if s, ok := action.(Send); ok && s.Message.Kind == KindHello && s.Message.To == "b" {
					hellos++
				}
			}
		}
	}
	pass(10 * helloTicks)
	if n := len(c.View().Members); n != 1 || hellos < 9 || hellos > 21 {
		t.Errorf("%d members after %d hellos without an answer", n, hellos)
	}
	b.Unanswered = false
	pass(helloTicks)
	if v := c.View(); !v.Lists("b", 1) {
		t.Errorf("it answers, and is not admitted: %s", v)
	}
}
