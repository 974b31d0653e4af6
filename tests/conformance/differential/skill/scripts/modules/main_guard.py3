def main():
    print("guarded")


if __name__ == "__main__":
    main()
