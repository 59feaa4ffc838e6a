"""What a study is made of: its file, plan, candidates and run ids."""
