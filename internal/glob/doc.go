// Package glob matches file patterns in time that is linear in the text: every
// character is looked at once, by at most five states for each byte of the pattern.
// No pattern and no text, however they are made, make it go back over the text.
//
// A pattern matches the whole text:
//
//   - any characters but /
//     **/       any number of directories, where a directory begins; elsewhere ** is *
//     /**       everything below, and the directory itself, at the end of a pattern
//     ?         one character but /
//     [a-z]     one of these characters; [!a-z] and [^a-z] any other, / among them
//     {a,b}     one of these patterns, which may hold others
//     \c        the character c
package glob
