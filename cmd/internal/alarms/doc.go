// Package alarms counts how often hooks asked a person or blocked an action, by rule, hook or tool,
// so that a rule with many false alarms is seen. It reads recorded events only.
package alarms
