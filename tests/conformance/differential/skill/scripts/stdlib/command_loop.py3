# stdin: "say hello\nnothing\nquit\n"
import cmd


class Loop(cmd.Cmd):
    prompt = "> "
    use_rawinput = False

    def do_say(self, line):
        print("said", line)

    def do_quit(self, line):
        return True


Loop().cmdloop()
